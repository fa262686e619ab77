import { useSignal } from "@preact/signals";
import type { ScoreAnswer } from "../../src/programs/dashboard/wire.ts";
import { get } from "./api.ts";
import { joules } from "./format.ts";

const DEFAULT_RESOURCE = "nvidia.com/gpu";

/** Describes a pod and shows how this node scores for it, by the extender's own formula. */
export function ScoreForm({ node, resources }: { node: string; resources: readonly string[] }) {
  const workloadClass = useSignal("standard");
  const cpus = useSignal("4");
  const gpus = useSignal("0");
  const answer = useSignal<ScoreAnswer | undefined>(undefined);
  const failure = useSignal("");

  const ask = async () => {
    const query = new URLSearchParams({
      node,
      class: workloadClass.value,
      cpus: cpus.value,
      gpus: gpus.value,
      resource: resources[0] ?? DEFAULT_RESOURCE,
    });
    try {
      answer.value = await get<ScoreAnswer>(`/api/score?${query.toString()}`);
      failure.value = "";
    } catch (error) {
      failure.value = error instanceof Error ? error.message : String(error);
    }
  };
  return (
    <section class="score" aria-labelledby="score-title">
      <h3 id="score-title">Score for a pod that you describe</h3>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void ask();
        }}
      >
        <label>
          Class
          <select value={workloadClass.value} onChange={(event) => (workloadClass.value = event.currentTarget.value)}>
            <option value="standard">standard</option>
            <option value="performance">performance</option>
          </select>
        </label>
        <label>
          CPUs
          <input
            type="number"
            min="0"
            max="4096"
            step="any"
            value={cpus.value}
            onInput={(event) => (cpus.value = event.currentTarget.value)}
          />
        </label>
        <label>
          GPUs
          <input
            type="number"
            min="0"
            max="64"
            value={gpus.value}
            onInput={(event) => (gpus.value = event.currentTarget.value)}
          />
        </label>
        <button type="submit">Score</button>
      </form>
      <div aria-live="polite">
        {failure.value !== "" && <p class="note">{failure.value}</p>}
        {answer.value !== undefined && <Verdict answer={answer.value} />}
      </div>
    </section>
  );
}

function Verdict({ answer }: { answer: ScoreAnswer }) {
  const { rank, feasible, feasibleNodes, nodes, score, scoreMax, words, terms, unit, settings } = answer;
  const largest = Math.max(1, ...terms.map(([, value]) => Math.abs(value)));
  return (
    <div class="verdict" data-testid="verdict">
      <p>
        <b>{feasible ? `Score ${score} of ${scoreMax}` : "The pod cannot run here"}</b>
        {rank !== null && `, place ${rank} of ${feasibleNodes} nodes that accept it`}
        {rank === null && `; ${feasibleNodes} of ${nodes} nodes accept it`}
      </p>
      {words.map((text) => (
        <p key={text} dir="auto">
          {text}
        </p>
      ))}
      {feasible && terms.length > 0 && (
        <table>
          <caption class="visually-hidden">Parts of the score, in {unit}</caption>
          <tbody>
            {terms
              .filter(([, value]) => value !== 0)
              .map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td class="number">{unit === "joules" ? joules(value) : value.toFixed(1)}</td>
                  <td class="bar-cell" aria-hidden="true">
                    <span
                      class={value < 0 ? "bar minus" : "bar"}
                      style={{ width: `${(100 * Math.abs(value)) / largest}%` }}
                    />
                  </td>
                </tr>
              ))}
          </tbody>
        </table>
      )}
      <p class="note">By {settings}.</p>
    </div>
  );
}
