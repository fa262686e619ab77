import { kilograms, kilowattHours, money } from "./format.ts";
import { NodeLink } from "./node-link.tsx";
import { fleet, savings, savingsHours } from "./store.ts";

/** Energy used and not used, money and carbon, always with the method. */
export function Savings() {
  const report = savings.value;
  return (
    <section class="panel savings" aria-labelledby="savings-title">
      <header>
        <h2 id="savings-title">Savings</h2>
        <span class="badge">a model, not a measurement</span>
        <div class="segmented" role="group" aria-label="Time of the savings">
          {([24, undefined] as const).map((length) => (
            <button
              key={String(length)}
              type="button"
              aria-pressed={savingsHours.value === length}
              onClick={() => (savingsHours.value = length)}
            >
              {length === undefined ? "All" : `${length} h`}
            </button>
          ))}
        </div>
      </header>
      {!report?.coverage ? (
        <p class="empty">Nothing is counted yet: the account begins with the first readings.</p>
      ) : (
        <>
          <dl class="facts">
            <div>
              <dt>Used at the wall</dt>
              <dd>
                {kilowattHours(report.usedKwh)}
                {report.modelledKwh > 0 &&
                  ` (${kilowattHours(report.modelledKwh)} of it modelled: the rest of servers without a meter, and devices without a reading)`}
              </dd>
            </div>
            <div>
              <dt>Not used (estimate)</dt>
              <dd>
                {kilowattHours(report.notUsedKwh.estimate)} ({kilowattHours(report.notUsedKwh.low)} to{" "}
                {kilowattHours(report.notUsedKwh.high)})
              </dd>
            </div>
            {report.cost !== null && (
              <div>
                <dt>Money not spent (estimate)</dt>
                <dd>
                  {money(report.cost.notUsed.estimate)} {report.cost.currency} ({money(report.cost.notUsed.low)} to{" "}
                  {money(report.cost.notUsed.high)}); {money(report.cost.used)} {report.cost.currency} spent
                </dd>
              </div>
            )}
            {report.carbonKg !== null && (
              <div>
                <dt>CO2 not emitted (estimate)</dt>
                <dd>
                  {kilograms(report.carbonKg.notUsed.estimate)} ({kilograms(report.carbonKg.notUsed.low)} to{" "}
                  {kilograms(report.carbonKg.notUsed.high)}); {kilograms(report.carbonKg.used)} emitted
                </dd>
              </div>
            )}
            {[...report.byCauseKwh, ...report.byClassKwh].map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{kilowattHours(value)}</dd>
              </div>
            ))}
            <div>
              <dt>Node time with a reading</dt>
              <dd>{`${(100 * report.coverage).toFixed(0)} %`}</dd>
            </div>
          </dl>
          <details>
            <summary>Nodes that used most</summary>
            <ul class="rows">
              {report.topNodes.map(([name, used, notUsed]) => (
                <li key={name}>
                  {/* Some rows are sums over several nodes, or nodes that have left. */}
                  {fleet.slotOf(name) < 0 ? <span dir="auto">{name}</span> : <NodeLink name={name} />}
                  <span>
                    {kilowattHours(used)} used, {kilowattHours(notUsed)} not used
                  </span>
                </li>
              ))}
            </ul>
          </details>
          <details>
            <summary>How this is computed</summary>
            <p>{report.method}</p>
            <p>{report.bias}</p>
            {report.factors !== "" && <p>Factors: {report.factors}.</p>}
          </details>
        </>
      )}
    </section>
  );
}
