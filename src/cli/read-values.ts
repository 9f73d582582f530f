import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { unitsOfUsdc } from '../contract/money.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { wrongUse } from './cli-error.ts';

/** The id of a listing, a comment or a payment, as it stands on the command line. */
export function readId(given: string | undefined, name = 'ID'): number {
  if (given !== undefined && /^[1-9]\d{0,14}$/.test(given)) return Number(given);
  throw wrongUse(own`${ofOwner(name)} must be a whole number from 1 on, and is ${ofOwner(given ?? 'missing')}`);
}

/** A whole number of an option; undefined where the option is absent. */
export function readCount(given: string | undefined, option: string, least = 1): number | undefined {
  if (given === undefined) return undefined;
  const count = /^\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
  if (count >= least) return count;
  throw wrongUse(own`--${ofOwner(option)} must be a whole number from ${least} on`);
}

/** USDC of an option; undefined where the option is absent. */
export function readUsdc(given: string | undefined, option: string): number | undefined {
  if (given === undefined) return undefined;
  const isPlain = /^(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/.test(given);
  if (isPlain && unitsOfUsdc(Number(given)) !== null) return Number(given);
  throw wrongUse(own`--${ofOwner(option)} must be an amount of USDC with at most 6 decimals, such as 0.5`);
}

/** A file that the user named, whole; what is larger than the bound is not read. */
export async function readNamed(path: string, mostBytes: number): Promise<{ bytes: Uint8Array; name: string }> {
  const full = resolve(path);
  const { size } = await stat(full);
  if (size > mostBytes)
    throw wrongUse(
      own`${ofOwner(path)} has ${size} bytes; at most ${mostBytes} are taken`,
      undefined,
      'file_too_large',
    );
  return { bytes: await readFile(full), name: basename(full) };
}

const FOUR_BYTES_A_CHARACTER = 16_000;

/** A text of up to 4,000 characters out of a file. */
export async function readText(path: string): Promise<string> {
  const text = asText((await readNamed(path, FOUR_BYTES_A_CHARACTER)).bytes);
  if (text === null) throw wrongUse(own`${ofOwner(path)} is not UTF-8 text`);
  return text.replaceAll('\r\n', '\n').trim();
}

/** Null where the bytes are not UTF-8. A mark at the beginning stays. */
export function asText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
