import { z } from 'zod';
import { CITY_LIMITS, type CityLimits } from '../contract/city/endpoints.ts';
import { readLimitsObject, readNamed, type Told } from '../platform/named-limits.ts';

/** CITY_LIMITS: a JSON object that changes some of the named limits. */
export const readLimits: z.ZodType<CityLimits, string> = z.string().transform((text, context) => {
  const tell: Told = (message) => context.addIssue({ code: 'custom', message });
  const given = readLimitsObject(text, tell);
  if (given === null) return z.NEVER;
  return { ...CITY_LIMITS, ...readNamed(given, Object.keys(CITY_LIMITS), tell) };
});
