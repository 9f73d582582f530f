export type OutboundWhy =
  | ('timeout' | 'unreachable' | 'redirect' | 'too_large' | 'not_json')
  // Only of documents of strangers: an address that is none for the public and was not asked at all; another status than 200.
  | ('address' | 'status');

/** Another server gave no answer that can be read. Says nothing about what that server did. */
export class OutboundFailure extends Error {
  override readonly name = 'OutboundFailure';
  readonly why: OutboundWhy;

  constructor(why: OutboundWhy, options?: ErrorOptions) {
    super(`the other server gave no readable answer: ${why}`, options);
    this.why = why;
  }
}

export interface AskOptions {
  /** POSTed as JSON; null asks with GET. */
  body: unknown;
  /** For connection, headers and body together. */
  deadlineMs: number;
  maxBytes: number;
  headers?: Readonly<Record<string, string>>;
}

/** One request, no redirects, a bounded answer. Any status is handed back; what cannot be read is an OutboundFailure. */
export async function askJson(url: string, options: AskOptions): Promise<{ status: number; json: unknown }> {
  const signal = AbortSignal.timeout(options.deadlineMs);
  const headers: Record<string, string> = { accept: 'application/json', ...options.headers };
  if (options.body !== null) headers['content-type'] = 'application/json';
  try {
    const response = await fetch(url, {
      method: options.body === null ? 'GET' : 'POST',
      headers,
      body: options.body === null ? null : JSON.stringify(options.body),
      redirect: 'manual',
      signal,
    });
    if (isRedirect(response)) {
      await response.body?.cancel();
      throw new OutboundFailure('redirect');
    }
    return { status: response.status, json: await readBoundedJson(response, options.maxBytes) };
  } catch (error) {
    if (error instanceof OutboundFailure) throw error;
    throw new OutboundFailure(signal.aborted ? 'timeout' : 'unreachable', { cause: error });
  }
}

export function isRedirect({ type, status }: Response): boolean {
  return type === 'opaqueredirect' || (status >= 300 && status < 400);
}

/** The JSON of an answer of so many bytes at most; otherwise an OutboundFailure. */
export async function readBoundedJson({ body }: Response, maxBytes: number): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw new OutboundFailure('too_large');
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch (error) {
    throw new OutboundFailure('not_json', { cause: error });
  }
}
