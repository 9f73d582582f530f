import { readJson } from './http/read-json.ts';

/** How the variables read that change some of a site's named limits. */

const LARGEST = 1_000_000_000;

/** Hears of a fault: names and bounds, never a value. */
export type Told = (message: string) => void;

/** The object that the text is; null when it is none. */
export function readLimitsObject(text: string, tell: Told): Record<string, unknown> | null {
  try {
    return readJson(Buffer.from(text));
  } catch {
    tell('this is not one JSON object');
    return null;
  }
}

/** Whole numbers for some of those names. `most`: those that may not go as high as the others. */
export function readNamed(
  given: object,
  names: readonly string[],
  tell: Told,
  most: ReadonlyMap<string, number> = new Map(),
): Record<string, number> {
  const limits: Record<string, number> = {};
  for (const [name, value] of Object.entries(given)) {
    const max = most.get(name) ?? LARGEST;
    if (!names.includes(name)) tell(`a name is none of ${names.join(', ')}`);
    else if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0 || value > max) {
      tell(`${name} is no whole number from 0 to ${max}`);
    } else limits[name] = value;
  }
  return limits;
}
