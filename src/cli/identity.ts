import { z } from 'zod';
import { lockFile } from '../agent/lock-file.ts';
import {
  makeFolderOf,
  mustBeWritable,
  readPrivate,
  removeEmpty,
  removePrivate,
  writePrivate,
} from '../agent/private-file.ts';
import { HANDLE_PATTERN } from '../contract/identity.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { wrongUse } from './cli-error.ts';

/** Anything that can stand in a header: what a key looks like is the market's own choice. */
export const SECRET_TEXT = /^[\x21-\x7e]{8,200}$/;
const secret = z.string().regex(SECRET_TEXT);
const codes = z.array(secret).max(32);
const time = z.string().max(40);
const handle = z.string().regex(new RegExp(HANDLE_PATTERN));

/** Begun at a door, saved, and not known to be confirmed. */
const pending = z.strictObject({
  door: z.enum(['register', 'rotate', 'recovery']),
  session: secret,
  csrf: secret,
  merchant_key: secret,
  /** Null where the door leaves the codes as they are. */
  recovery_codes: codes.nullable(),
  expires_at: time,
});

/** What a merchant's file holds. `merchant_key` and `recovery_codes` are the ones last known to be in force. */
const identity = z.strictObject({
  /** A file that the operator's command made names none. */
  market: z.string().nullable().default(null),
  handle,
  /** Null before the first confirm. */
  merchant_id: z.int().positive().nullable(),
  merchant_key: secret.nullable(),
  recovery_codes: codes,
  pending: pending.nullable().default(null),
  /** Saved once, and unknown to the market when it was asked: set aside until a confirm shows that it is over. */
  previous: z.array(z.strictObject({ merchant_key: secret, recovery_codes: codes.nullable() })).default([]),
  /** Made with the key alone: in force later, if no old code is used before (W10). */
  waiting_codes: z.strictObject({ recovery_codes: codes, valid_from: time }).nullable().default(null),
  /** New codes were asked for and never seen: the ones above may be over. */
  codes_in_doubt_since: time.nullable().default(null),
  /** The market refused the key above. */
  key_refused_at: time.nullable().default(null),
});

export type Identity = z.output<typeof identity>;
export type Pending = z.output<typeof pending>;

export function emptyIdentity(market: string, ofHandle: string): Identity {
  return {
    market,
    handle: ofHandle,
    merchant_id: null,
    merchant_key: null,
    recovery_codes: [],
    pending: null,
    previous: [],
    waiting_codes: null,
    codes_in_doubt_since: null,
    key_refused_at: null,
  };
}

/** Never quotes what it could not read. */
function parseIdentity(text: string, path: string): Identity {
  const refused = (what: string) =>
    wrongUse(own`${ofOwner(path)} is no identity file of openaisle (${ofOwner(what)})`, undefined, 'file_refused');
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw refused('not JSON');
  }
  const parsed = identity.safeParse(read);
  if (parsed.success) return parsed.data;
  throw refused(parsed.error.issues.map(({ path: at, code }) => `${at.join('.') || 'the whole'}: ${code}`).join('; '));
}

export function printIdentity(content: Identity): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** A merchant's file while this process alone works on it. */
export interface IdentityFile {
  readonly path: string;
  /** As it stands on the disk; null where there is no file. */
  readonly content: Identity | null;
  /** Refuses a file that cannot be written, before anything is asked of a market for it. */
  mustBeWritable(): Promise<void>;
  /** On the disk when it resolves. */
  save(content: Identity): Promise<void>;
  remove(): Promise<void>;
}

/** One process at a time: a key that another process saved between this one's read and write would be lost. */
export async function withIdentityFile<T>(path: string, work: (file: IdentityFile) => Promise<T>): Promise<T> {
  const made = await makeFolderOf(path);
  const lock = await lockFile(path);
  try {
    let text = await readPrivate(path);
    let content = text === null ? null : parseIdentity(text, path);
    return await work({
      path,
      get content() {
        return content;
      },
      mustBeWritable: () => mustBeWritable(path),
      save: async (changed) => {
        // The lock does not reach everywhere: a home may be shared with another machine.
        if ((await readPrivate(path)) !== text)
          throw wrongUse(
            own`${ofOwner(path)} was changed by another program meanwhile`,
            own`Run the command again.`,
            'file_changed',
          );
        const written = printIdentity(changed);
        await writePrivate(path, written, text === null ? 'new' : 'replace');
        [text, content] = [written, changed];
      },
      remove: async () => {
        await removePrivate(path);
        [text, content] = [null, null];
      },
    });
  } finally {
    await lock.release();
    await removeEmpty(made);
  }
}

export async function readIdentity(path: string): Promise<Identity | null> {
  const text = await readPrivate(path);
  return text === null ? null : parseIdentity(text, path);
}

/** A recovery code of each set in the file, the one that should be in force first. Whether those that waited came in force only the market knows. */
export function usableCodes({ recovery_codes, waiting_codes }: Identity, nowMs: number): string[] {
  const waited = waiting_codes !== null && Date.parse(waiting_codes.valid_from) <= nowMs;
  const codes = [waited ? waiting_codes.recovery_codes[0] : undefined, recovery_codes[0]];
  return codes.filter((code) => code !== undefined);
}

/** What --reveal shows of a file. */
export function secretsOf({ merchant_key, recovery_codes, waiting_codes }: Identity): string[] {
  return [
    ...(merchant_key === null ? [] : [`key            ${merchant_key}`]),
    ...recovery_codes.map((code) => `recovery code  ${code}`),
    ...(waiting_codes?.recovery_codes ?? []).map((code) => `waiting code   ${code}`),
  ];
}
