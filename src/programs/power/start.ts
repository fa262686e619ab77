import { errorMessageOf, fieldManagers } from "../../core/api/index.ts";
import type { Clock } from "../../platform/clock/index.ts";
import { EventRecorder, KubeClient, LeaderElector, StopSwitch } from "../../platform/kube/index.ts";
import { ProgramMetrics } from "../../platform/metrics/index.ts";
import { type ProgramWorld, runInCluster } from "../run-in-cluster.ts";
import { pageService, processFigures, runServices } from "../services.ts";
import { NodeApi } from "./api/node-api.ts";
import { type PowerConfig, type PowerTimes, powerSettingsOf } from "./config.ts";
import { type OpenSwitch, switchesOf } from "./machine/switches.ts";
import { PowerReports } from "./report/power-reports.ts";
import { StepTimes } from "./steps/node-case.ts";
import { NodeReconciler } from "./steps/node-reconciler.ts";
import { PowerController } from "./watch/power-controller.ts";

export interface PowerWorld extends ProgramWorld {
  /** For leadership, where the time stamps of `ioClock` are not in real time. */
  readonly leaderClock?: Clock;
  /** Opens switches; by default those of the PowerEndpoints. */
  readonly openSwitch?: OpenSwitch;
  readonly times?: PowerTimes;
}

export const start = async (config: PowerConfig): Promise<number> =>
  runInCluster("power", config, async (world, signal) => runPower(config, world, signal));

/** Wires the power program: client, watches, switches, reconciliation, leader election and HTTP pages. */
export async function runPower(config: PowerConfig, world: PowerWorld, signal: AbortSignal): Promise<void> {
  const { transport, clock, ioClock, random, log } = world;
  const settings = powerSettingsOf(config, world.times);
  const namespace = config.POD_NAMESPACE;
  const instance = config.POD_NAME ?? "joulie-power";
  const client = new KubeClient({
    transport,
    clock: ioClock,
    random,
    fieldManager: fieldManagers.power,
    userAgent: "joulie-power",
  });
  const io = { client, clock: ioClock, random, log };
  const recorder = new EventRecorder({ ...io, seriesClock: clock, controller: "joulie.io/power", instance });
  const metrics = new ProgramMetrics(ioClock);
  const controller = new PowerController(io);
  const stopSwitch = new StopSwitch({ ...io, namespace, onChange: () => controller.lookAtAll() });
  const reports = new PowerReports({ metrics, recorder, log, leading: () => elector.leading });
  const openSwitch =
    world.openSwitch ??
    switchesOf({
      client,
      clock: ioClock,
      timeout: settings.switchTimeout,
      namespace,
      allowed: config.SWITCH_ALLOWED_ENDPOINTS,
    });
  const stepTimes = new StepTimes(clock);
  const leads = () => elector.leading;
  const elector: LeaderElector = new LeaderElector({
    ...io,
    clock: world.leaderClock ?? ioClock,
    calendar: ioClock,
    lease: { namespace, name: config.LEASE_NAME },
    name: instance,
    lead: async (term) => {
      await controller.synced(term);
      // Otherwise a node could fall asleep while everything is stopped.
      await stopSwitch.known();
      const reconciler = new NodeReconciler({
        api: new NodeApi({ client, mayWrite: leads, namespace }),
        openSwitch,
        settings,
        clock,
        random,
        reports,
        stepTimes,
        view: (name) => controller.view(name),
        stopped: () => stopSwitch.reason,
        leads,
      });
      await controller.run(
        {
          clock,
          onError: (name, error) => reports.problem(name, errorMessageOf(error)),
          concurrency: settings.concurrency,
          reconcile: async (name, work) => reconciler.reconcile(name, work),
          forget: (name) => reconciler.forget(name),
        },
        term,
      );
    },
  });
  const pages = pageService(
    {
      address: config.METRICS_ADDR,
      metrics,
      log,
      clock: ioClock,
      ready: {
        synced: () => (controller.missing.length === 0 ? undefined : `not read yet: ${controller.missing.join(", ")}`),
      },
    },
    (url) => log.info({ url }, "serving metrics and health"),
  );
  const watches = { start: () => controller.start(), stop: async () => controller.stop() };
  await runServices([recorder, processFigures(metrics, ioClock), pages, stopSwitch, watches, elector], signal);
}
