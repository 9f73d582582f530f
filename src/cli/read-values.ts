import { readFile, stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { unitsOfUsdc } from '../contract/money.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { wrongUse } from './cli-error.ts';

export function readId(text: string | undefined, name = 'ID'): number {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw wrongUse(own`${ofOwner(name)} must be a whole number, 1 or more; it is ${ofOwner(text ?? 'missing')}`);
}

/** Reads an option's whole number; undefined if the option is absent. */
export function readCount(text: string | undefined, option: string, least = 1): number | undefined {
  if (text === undefined) return undefined;
  const count = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (count >= least) return count;
  throw wrongUse(own`--${ofOwner(option)} must be a whole number, ${least} or more`);
}

/** Reads an option's amount in USDC; undefined if the option is absent. */
export function readUsdc(text: string | undefined, option: string): number | undefined {
  if (text === undefined) return undefined;
  const isPlain = /^(?:0|[1-9]\d{0,8})(?:\.\d{1,6})?$/.test(text);
  if (isPlain && unitsOfUsdc(Number(text)) !== null) return Number(text);
  throw wrongUse(own`--${ofOwner(option)} must be an amount in USDC with at most 6 decimals, such as 0.5`);
}

/** Reads a file that the user named. Refuses a larger file without reading it. */
export async function readNamed(path: string, mostBytes: number): Promise<{ bytes: Uint8Array; name: string }> {
  const full = resolve(path);
  const { size } = await stat(full);
  if (size > mostBytes)
    throw wrongUse(own`${ofOwner(path)} has ${size} bytes; the limit is ${mostBytes}`, undefined, 'file_too_large');
  return { bytes: await readFile(full), name: basename(full) };
}

/** Large enough for 4,000 characters of up to four bytes. */
const LONGEST_TEXT_BYTES = 16_000;

export async function readText(path: string): Promise<string> {
  const text = asText((await readNamed(path, LONGEST_TEXT_BYTES)).bytes);
  if (text === null) throw wrongUse(own`${ofOwner(path)} isn’t UTF-8 text`);
  return text.replaceAll('\r\n', '\n').trim();
}

/** Decodes UTF-8 and keeps a byte order mark. Returns null for other bytes. */
export function asText(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
