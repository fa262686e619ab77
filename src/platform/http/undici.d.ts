// Types of the undici files that src/platform/http imports. Only undici's index adds `request` and similar methods to Pool, so they
// are not declared here.
declare module "undici/lib/dispatcher/pool.js" {
  import type * as undici from "undici";
  export default class Pool {
    constructor(origin: string | URL, options?: undici.Pool.Options);
    dispatch: undici.Pool["dispatch"];
    destroy: undici.Pool["destroy"];
  }
}

declare module "undici/lib/dispatcher/agent.js" {
  import type * as undici from "undici";
  export default class Agent {
    constructor(options?: undici.Agent.Options);
    dispatch: undici.Agent["dispatch"];
    destroy: undici.Agent["destroy"];
  }
}

declare module "undici/lib/core/connect.js" {
  export { buildConnector as default } from "undici";
}

declare module "undici/lib/api/api-request.js" {
  import type { Dispatcher } from "undici";
  export default function request(
    this: Pick<Dispatcher, "dispatch">,
    options: Dispatcher.RequestOptions,
  ): Promise<Dispatcher.ResponseData>;
}
