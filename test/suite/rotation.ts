import { relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** A build plays one of so many parts of a rotated family; as many builds of consecutive commits play all of it. */
export const PARTS = 3;

/**
 * Returns the cases of a family that this build plays. All of them, unless OPENAISLE_ROTATION names a part. `npm run -s rotation` prints a
 * value for that variable: the part, then the files that are played whole because the change touches them.
 */
export function rotated<Case>(file: string, cases: readonly Case[]): readonly Case[] {
  return chooseCases(readRotation(), relative(root, file), cases);
}

/** Says whether this build plays the nth case of a family that is met one by one. */
export function isPlayed(file: string, nth: number): boolean {
  return isChosen(readRotation(), relative(root, file), nth);
}

/** Returns the part that this build plays, to be added to a fixed seed; 0 where all parts are played. */
export function rotationPart(): number {
  return Number.parseInt(readRotation(), 10) || 0;
}

/** Returns how many rounds of a random game this build plays: a third of them where the build is rotated. */
export function rotatedRounds(file: string, rounds: number): number {
  return rotated(file, Array.from({ length: rounds })).length;
}

const readRotation = (): string => process.env['OPENAISLE_ROTATION'] ?? 'all';

export function chooseCases<Case>(rotation: string, file: string, cases: readonly Case[]): readonly Case[] {
  // A third of fewer cases would leave a build without any.
  return cases.length < PARTS ? cases : cases.filter((_, nth) => isChosen(rotation, file, nth));
}

function isChosen(rotation: string, file: string, nth: number): boolean {
  const [part = '', ...wholeFiles] = rotation.split(' ');
  if (part === 'all' || wholeFiles.includes(file)) return true;
  if (!/^[0-2]$/.test(part)) throw new RangeError(`OPENAISLE_ROTATION is "${rotation}", not "all", 0, 1 or 2`);
  // Families begin at different cases, so that small ones do not all play their longer part in the same build.
  const offset = [...file].reduce((sum, letter) => sum + letter.charCodeAt(0), Number(part));
  return (nth + offset) % PARTS === 0;
}
