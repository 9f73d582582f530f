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

/** Accepts anything that fits in a header, because each market chooses the form of its keys. */
export const SECRET_TEXT = /^[\x21-\x7e]{8,200}$/;
const secret = z.string().regex(SECRET_TEXT);
const codes = z.array(secret).max(32);
const time = z.string().max(40);
const handle = z.string().regex(new RegExp(HANDLE_PATTERN));

/** A new key, saved but not known to be confirmed. `door` names the endpoint that made it. */
const pending = z.strictObject({
  door: z.enum(['register', 'rotate', 'recovery']),
  session: secret,
  csrf: secret,
  merchant_key: secret,
  /** Null if the change keeps the current codes. */
  recovery_codes: codes.nullable(),
  expires_at: time,
});

/** Content of a merchant's file. `merchant_key` and `recovery_codes` are the last ones known to be valid. */
const identity = z.strictObject({
  /** Null in a file that `npm run maintainer` wrote. */
  market: z.string().nullable().default(null),
  handle,
  /** Null until the first confirmation. */
  merchant_id: z.int().positive().nullable(),
  merchant_key: secret.nullable(),
  recovery_codes: codes,
  pending: pending.nullable().default(null),
  /** Keys that the market didn't recognize. They are kept until a confirmed change shows that they are obsolete. */
  previous: z.array(z.strictObject({ merchant_key: secret, recovery_codes: codes.nullable() })).default([]),
  /** Codes made with the key alone. They become valid at `valid_from`, unless an old code is used before then. */
  waiting_codes: z.strictObject({ recovery_codes: codes, valid_from: time }).nullable().default(null),
  /** Set if new codes were requested and the answer was lost, so that `recovery_codes` may be invalid. */
  codes_in_doubt_since: time.nullable().default(null),
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

/** Errors never quote the text, because it contains secrets. */
function parseIdentity(text: string, path: string): Identity {
  const refused = (what: string) =>
    wrongUse(own`${ofOwner(path)} isn’t an openaisle identity file (${ofOwner(what)})`, undefined, 'file_refused');
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    throw refused('not JSON');
  }
  const parsed = identity.safeParse(read);
  if (parsed.success) return parsed.data;
  throw refused(parsed.error.issues.map(({ path: at, code }) => `${at.join('.') || 'whole file'}: ${code}`).join('; '));
}

export function printIdentity(content: Identity): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

/** A merchant's file, locked by this process. */
export interface IdentityFile {
  readonly path: string;
  /** Content on disk; null if there is no file. */
  readonly content: Identity | null;
  /** Throws if the file can't be written. Call it before asking the market for new secrets. */
  mustBeWritable(): Promise<void>;
  /** Resolves once the content is on disk. */
  save(content: Identity): Promise<void>;
  remove(): Promise<void>;
}

/** Runs `work` with the file locked, so that no other process saves a key between our read and our write. */
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
        // The lock doesn't cover other machines that share the home folder.
        if ((await readPrivate(path)) !== text)
          throw wrongUse(
            own`Another program changed ${ofOwner(path)} meanwhile`,
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

/**
 * Returns the codes to try, in this order: one of the waiting set once its wait is over, and one of the current set. Only the market knows
 * whether the waiting set became valid.
 */
export function usableCodes({ recovery_codes, waiting_codes }: Identity, nowMs: number): string[] {
  const isWaitOver = waiting_codes !== null && Date.parse(waiting_codes.valid_from) <= nowMs;
  const codes = [isWaitOver ? waiting_codes.recovery_codes[0] : undefined, recovery_codes[0]];
  return codes.filter((code) => code !== undefined);
}

export function secretsOf({ merchant_key, recovery_codes, waiting_codes }: Identity): string[] {
  return [
    ...(merchant_key === null ? [] : [`key            ${merchant_key}`]),
    ...recovery_codes.map((code) => `recovery code  ${code}`),
    ...(waiting_codes?.recovery_codes ?? []).map((code) => `waiting code   ${code}`),
  ];
}
