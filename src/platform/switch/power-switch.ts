import { CodedError, type ErrorCode, type SwitchState } from "../../core/api/index.ts";
import type { HostIdentity } from "./provider-id.ts";

/** Called before each request that changes power, also a repeated one. If it rejects, nothing more is sent. */
export type ConfirmSwitching = () => Promise<void>;

/**
 * Switches one machine. Every method may be called again after an unknown outcome: `on` on a machine that is on, and
 * `shutdown` and `forceOff` on one that is off, do nothing. A call that returns has only been accepted; `state` tells when it
 * has happened. An action uses what the last call of `state` has read, so that little time passes before its request.
 */
export interface PowerSwitch {
  /** `unknown` while the machine is between on and off, or if the switch does not know. */
  state(signal: AbortSignal): Promise<SwitchState>;
  on(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void>;
  /** Asks the operating system to shut down. */
  shutdown(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void>;
  forceOff(signal: AbortSignal, confirm: ConfirmSwitching): Promise<void>;
  /** Further facts about the machine, from the last call of `state`. */
  readonly facts?: MachineFacts | undefined;
  close(): Promise<void>;
}

export interface MachineFacts {
  /** The UUID in the firmware of the machine, in the spelling of the switch. */
  readonly systemUuid?: string | undefined;
  /** The BareMetalHost of the machine. */
  readonly host?: HostIdentity;
  /** Why the switch will not take power away; undefined if it will. */
  readonly keepsPower?: string | undefined;
  /** Why the switch obeys nothing at present, so that a wake waits. */
  readonly held?: string;
}

/** Why a call of a switch failed. Also a value of the metric label `reason`. */
export type PowerSwitchErrorKind =
  | "timeout"
  | "network"
  | "status"
  | "redirect"
  | "too_large"
  | "garbled"
  /** The switch rejects the password, or the Secret is missing or incomplete. */
  | "credentials"
  /** The switch, or its owner, does not allow the action. */
  | "refused"
  /** The switch does not know the machine. */
  | "not_found"
  /** The switch belongs to another machine than the node. */
  | "wrong_machine";

const codeOfKind: Readonly<Partial<Record<PowerSwitchErrorKind, ErrorCode>>> = {
  credentials: "JOULIE_E_POWER_CREDENTIALS",
  refused: "JOULIE_E_POWER_REFUSED",
  wrong_machine: "JOULIE_E_POWER_WRONG_MACHINE",
};

/** A failed call of a power switch. The message contains nothing of a response body and no secret. */
export class PowerSwitchError extends CodedError {
  override readonly name = "PowerSwitchError";
  readonly kind: PowerSwitchErrorKind;
  /** The HTTP status, if there was a response. */
  readonly status: number | undefined;

  constructor(kind: PowerSwitchErrorKind, message: string, status?: number) {
    super(codeOfKind[kind] ?? "JOULIE_E_POWER_SWITCH", message);
    this.kind = kind;
    this.status = status;
  }
}
