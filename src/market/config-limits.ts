import { z } from 'zod';
import { DEFAULT_LIMITS, type Limits } from '../contract/vocabulary.ts';
import { readJson } from '../platform/http/read-json.ts';

const LARGEST = 1_000_000_000;
// The body of a listing has a fixed limit; a larger artifact would never arrive.
const LARGEST_ARTIFACT_BYTES = 2 * DEFAULT_LIMITS.artifact_bytes;

/** OPENAISLE_LIMITS: a JSON object that changes some of the named limits. */
export const readLimits: z.ZodType<Limits, string> = z.string().transform((text, context) => {
  const given = parse(text);
  if (given === null) {
    context.addIssue({ code: 'custom', message: 'this is not one JSON object' });
    return z.NEVER;
  }
  const limits: Record<string, number> = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    const max = name === 'artifact_bytes' ? LARGEST_ARTIFACT_BYTES : LARGEST;
    if (!Object.hasOwn(DEFAULT_LIMITS, name)) {
      context.addIssue({ code: 'custom', message: `a name is none of ${Object.keys(DEFAULT_LIMITS).join(', ')}` });
    } else if (typeof value !== 'number' || !Number.isSafeInteger(value) || value > max) {
      context.addIssue({ code: 'custom', message: `${name} is no whole number from 0 to ${max}` });
    } else limits[name] = value;
  }
  return limits as Limits;
});

function parse(text: string): Record<string, unknown> | null {
  try {
    return readJson(Buffer.from(text));
  } catch {
    return null;
  }
}
