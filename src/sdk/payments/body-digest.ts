import { sha256, stringToBytes } from 'viem';

/** The market takes bodies that differ only in the order of their fields for the same listing. */
export function bodyDigest(body: object): string {
  return sha256(stringToBytes(JSON.stringify(body, sortKeys)));
}

function sortKeys(_: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
