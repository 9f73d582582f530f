/**
 * timeout: no whole answer within the deadline. transport: the connection failed or was cut. http: a status outside 2xx (`code` is
 * the status). malformed: an answer that breaks the protocol. error: the node answered with an error object (`code` is its code).
 */
export type RpcFailureKind = 'timeout' | 'transport' | 'http' | 'malformed' | 'error';

export class RpcFailure extends Error {
  readonly kind: RpcFailureKind;
  readonly code: number | null;
  /** The `data` of the node's error: the revert data of a call, as a rule. */
  readonly data: unknown;

  constructor(kind: RpcFailureKind, message: string, details: { code?: number | null; data?: unknown } = {}) {
    super(message);
    this.name = 'RpcFailure';
    this.kind = kind;
    this.code = details.code ?? null;
    this.data = details.data;
  }
}
