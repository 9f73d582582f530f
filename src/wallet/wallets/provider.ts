/** EIP-1193, as much of it as is used. */
export interface Provider {
  request(asked: { method: string; params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (given: unknown) => void): void;
  removeListener?(event: string, listener: (given: unknown) => void): void;
}

export function isProvider(given: unknown): given is Provider {
  return typeof given === 'object' && given !== null && 'request' in given && typeof given.request === 'function';
}

export type WhyNot =
  | 'refused'
  | 'busy'
  | 'not_allowed'
  | 'disconnected'
  | 'wrong_account'
  | 'wrong_chain'
  | 'account_changed'
  | 'stopped'
  | 'too_late'
  | 'unusable';

/** The wallet did not do what it was asked. Nothing that it did was sent anywhere. */
export class WalletTrouble extends Error {
  override readonly name = 'WalletTrouble';
  readonly why: WhyNot;

  constructor(why: WhyNot, detail: string = why, options: ErrorOptions = {}) {
    super(detail, options);
    this.why = why;
  }
}

const CODES: Readonly<Record<number, WhyNot>> = {
  4001: 'refused',
  4100: 'not_allowed',
  4900: 'disconnected',
  4901: 'disconnected',
  [-32_002]: 'busy',
};

/** Asks the wallet; its refusals come as `WalletTrouble`. */
export async function askWallet(provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (cause) {
    throw new WalletTrouble(CODES[codeOf(cause) ?? 0] ?? 'unusable', saidBy(cause), { cause });
  }
}

export function codeOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'number' ? error.code : null;
}

const LONGEST_WORDS = 200;

function saidBy(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return '';
  return typeof error.message === 'string' ? error.message.slice(0, LONGEST_WORDS) : '';
}
