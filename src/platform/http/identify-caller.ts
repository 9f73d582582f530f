import type { Auth } from '../../contract/endpoint.ts';
import { Refusal } from '../refusal.ts';
import { headerValues } from './payment-headers.ts';

export interface Identified<Caller> {
  caller: Caller | null;
  /** As sent, only where the operation judges it itself. */
  bearer: string | null;
}

export interface Identification<Caller> {
  /** Whether that is a secret whose place is not Authorization: a code. */
  isCode(bearer: string): boolean;
  authenticate(bearer: string): Promise<Caller | null>;
  isMaintainer(caller: Caller): boolean;
}

const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** Who calls, as far as the route wants to know. `audit` and `public` never look. */
export async function identifyCaller<Caller>(
  auth: Auth,
  from: { rawHeaders: readonly string[]; known?: Caller | undefined },
  by: Identification<Caller>,
): Promise<Identified<Caller>> {
  if (auth === 'audit' || auth === 'public') return { caller: null, bearer: null };
  if (auth === 'staged_key') return { caller: null, bearer: readBearer(from.rawHeaders, by) };
  const caller = from.known ?? (await callerOf(readBearer(from.rawHeaders, by), by));
  if (caller === null && auth !== 'optional_key') throw new Refusal('key_required');
  if (caller !== null && auth === 'maintainer' && !by.isMaintainer(caller)) throw new Refusal('maintainer_only');
  return { caller, bearer: null };
}

async function callerOf<Caller>(bearer: string | null, by: Identification<Caller>): Promise<Caller | null> {
  if (bearer === null) return null;
  const caller = await by.authenticate(bearer);
  if (caller === null) throw new Refusal('key_invalid');
  return caller;
}

/** The key as sent; it is not judged here. A code there is a secret out of its place (W1). */
export function readBearer(
  rawHeaders: readonly string[],
  { isCode }: Pick<Identification<never>, 'isCode'>,
): string | null {
  const [value, another] = headerValues(rawHeaders, 'authorization');
  if (value === undefined) return null;
  if (another !== undefined) throw new Refusal('key_invalid', { detail: 'Authorization was sent more than once.' });
  const token = BEARER.exec(value.trim())?.[1];
  if (isCode(token ?? value.trim())) throw new Refusal('secret_in_payload');
  if (token === undefined) throw new Refusal('key_invalid', { detail: 'Authorization must be Bearer and one key.' });
  return token;
}
