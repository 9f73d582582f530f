import { relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** Number of parts. A build runs one part of each rotated family, and builds of this many consecutive commits run all parts. */
export const PARTS = 3;

/**
 * Returns the cases of a family that this build runs: all of them, unless OPENAISLE_ROTATION names a part. `npm run -s rotation` prints a
 * value for that variable: the part, then the files that run completely because the change affects them.
 */
export function rotated<Case>(file: string, cases: readonly Case[]): readonly Case[] {
  return chooseCases(readRotation(), relative(root, file), cases);
}

/** Returns whether this build runs the nth case of a family whose cases come one by one. */
export function isPlayed(file: string, nth: number): boolean {
  return isChosen(readRotation(), relative(root, file), nth);
}

/** Returns the part that this build runs, to be added to a fixed seed, or 0 if all parts run. */
export function rotationPart(): number {
  return Number.parseInt(readRotation(), 10) || 0;
}

/** Returns the number of rounds of a random game in this build: a third of them if the build is rotated. */
export function rotatedRounds(file: string, rounds: number): number {
  return rotated(file, Array.from({ length: rounds })).length;
}

const readRotation = (): string => process.env['OPENAISLE_ROTATION'] ?? 'all';

export function chooseCases<Case>(rotation: string, file: string, cases: readonly Case[]): readonly Case[] {
  // Fewer cases than parts would leave some builds without any.
  return cases.length < PARTS ? cases : cases.filter((_, nth) => isChosen(rotation, file, nth));
}

function isChosen(rotation: string, file: string, nth: number): boolean {
  const [part = '', ...wholeFiles] = rotation.split(' ');
  if (part === 'all' || wholeFiles.includes(file)) return true;
  if (!/^[0-2]$/.test(part)) throw new RangeError(`OPENAISLE_ROTATION is "${rotation}", not "all", 0, 1 or 2`);
  // Start each family at a different case, so that small families do not all run their larger part in the same build.
  const offset = [...file].reduce((sum, letter) => sum + letter.charCodeAt(0), Number(part));
  return (nth + offset) % PARTS === 0;
}
