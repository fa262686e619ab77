// A Redfish service with one machine, whose parts a test can break.
import { type FakeAnswer, type FakeHandler, FakeHttpServer, type FakeRequest } from "./fake-http-server.ts";

const SYSTEM = "/redfish/v1/Systems/1";
const USER = "joulie";
const PASSWORD = "s3cret-pa55";

export class FakeRedfish {
  readonly server: FakeHttpServer;
  readonly credentials = { username: USER, password: PASSWORD };
  state = "On";
  etag: string | undefined;
  /** Accepts only sessions. */
  sessionsOnly = false;
  /** Answers 428 to a reset without this If-Match. */
  needsIfMatch: string | undefined;
  allowed: readonly string[] | undefined = ["On", "ForceOff", "GracefulShutdown", "GracefulRestart", "PushPowerButton"];
  vendor = "Example";
  uuid: unknown;
  systems: readonly string[] = [SYSTEM];
  /** Answers instead, if it returns something; `null` sends nothing. */
  fault: (request: FakeRequest) => FakeAnswer | null | undefined = () => undefined;
  /** Whether resets have no effect. */
  ignoresResets = false;
  readonly resets: string[] = [];
  readonly sessions = new Set<string>();
  #tokens = 0;

  constructor(tls?: { readonly cert: string; readonly key: string }) {
    this.server = new FakeHttpServer(this.#handler, tls);
  }

  readonly #handler: FakeHandler = (request) => {
    const fault = this.fault(request);
    if (fault !== undefined) return fault ?? undefined;
    const { path, method } = request;
    if (path === "/redfish/v1/") return { json: this.#root() };
    if (path === "/redfish/v1/SessionService/Sessions" && method === "POST") return this.#logIn(request);
    if (!this.#isAllowed(request)) return { status: 401, json: { error: { message: `not ${PASSWORD}` } } };
    if (method === "DELETE") return this.#logOut(path);
    if (path === "/redfish/v1/Systems") return { json: { Members: this.systems.map((id) => ({ "@odata.id": id })) } };
    if (path === SYSTEM) return this.#system();
    if (path === `${SYSTEM}/Actions/ComputerSystem.Reset` && method === "POST") return this.#reset(request);
    return { status: 404 };
  };

  #root(): unknown {
    return {
      Vendor: this.vendor,
      Systems: { "@odata.id": "/redfish/v1/Systems" },
      Links: { Sessions: { "@odata.id": "/redfish/v1/SessionService/Sessions" } },
    };
  }

  #isAllowed({ headers }: FakeRequest): boolean {
    const token = headers["x-auth-token"];
    if (typeof token === "string") return this.sessions.has(token);
    if (this.sessionsOnly) return false;
    return headers.authorization === `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString("base64")}`;
  }

  #logIn({ body }: FakeRequest): FakeAnswer {
    const { UserName, Password } = JSON.parse(body) as { UserName?: string; Password?: string };
    if (UserName !== USER || Password !== PASSWORD) return { status: 401 };
    const token = `token-${++this.#tokens}`;
    this.sessions.add(token);
    const location = `/redfish/v1/SessionService/Sessions/${token}`;
    return { status: 201, headers: { "x-auth-token": token, location } };
  }

  #logOut(path: string): FakeAnswer {
    return { status: this.sessions.delete(path.split("/").at(-1) ?? "") ? 204 : 404, text: "" };
  }

  #system(): FakeAnswer {
    const reset = {
      target: `${SYSTEM}/Actions/ComputerSystem.Reset`,
      ...(this.allowed && { "ResetType@Redfish.AllowableValues": this.allowed }),
    };
    return {
      headers: this.etag === undefined ? {} : { etag: this.etag },
      json: { Id: "1", UUID: this.uuid, PowerState: this.state, Actions: { "#ComputerSystem.Reset": reset } },
    };
  }

  #reset({ body, headers }: FakeRequest): FakeAnswer {
    if (this.needsIfMatch !== undefined && headers["if-match"] !== this.needsIfMatch) return { status: 428 };
    const { ResetType = "" } = JSON.parse(body) as { ResetType?: string };
    this.resets.push(ResetType);
    if (!this.ignoresResets) this.state = ResetType === "On" || ResetType === "ForceOn" ? "On" : "Off";
    return { status: 204, text: "" };
  }
}
