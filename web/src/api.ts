/** An answer other than 200. */
export class ApiFailure extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

const TOKEN = "joulie-token";
const LIMIT = 20_000;

/** In the session only: closing the tab forgets the token. */
export const token = {
  get: (): string => sessionStorage.getItem(TOKEN) ?? "",
  set: (text: string): void => sessionStorage.setItem(TOKEN, text.trim()),
};

export const headers = (): Record<string, string> =>
  token.get() === "" ? {} : { authorization: `Bearer ${token.get()}` };

export async function get<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
  const limit = AbortSignal.timeout(LIMIT);
  const response = await fetch(path, {
    headers: headers(),
    signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
  });
  if (!response.ok) throw await failureOf(response);
  return (await response.json()) as Answer;
}

export async function failureOf(response: Response): Promise<ApiFailure> {
  const text = await response.text().catch(() => "");
  let message = `status ${response.status}`;
  try {
    message = (JSON.parse(text) as { error?: string }).error ?? message;
  } catch {
    // A proxy may answer with a page of its own.
  }
  return new ApiFailure(response.status, message);
}
