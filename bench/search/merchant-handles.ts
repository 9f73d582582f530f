import { foldHandle } from '../../src/contract/handles.ts';

const LONGEST = 32;
const SHORTEST = 3;

/** Gives each owner a valid handle. No two handles look alike, because the database allows only one of them. */
export function makeHandles(owners: Iterable<string>): Map<string, string> {
  const taken = new Set<string>();
  const handles = new Map<string, string>();
  for (const owner of new Set(owners)) {
    const plain = plainHandle(owner);
    let handle = plain;
    for (let number = 2; taken.has(foldHandle(handle)); number += 1) handle = withNumber(plain, number);
    taken.add(foldHandle(handle));
    handles.set(owner, handle);
  }
  return handles;
}

function plainHandle(owner: string): string {
  const letters = owner
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, LONGEST);
  return letters.length < SHORTEST ? `${letters}-skills`.replace(/^-/, '') : letters;
}

function withNumber(handle: string, number: number): string {
  const ending = `-${number}`;
  return handle.slice(0, LONGEST - ending.length) + ending;
}
