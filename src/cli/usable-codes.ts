import type { Identity } from './files/identity.ts';

/** A recovery code of each set in the file, the one that should be in force first. Whether those that waited came in force only the market knows. */
export function usableCodes({ recovery_codes, waiting_codes }: Identity, nowMs: number): string[] {
  const waited = waiting_codes !== null && Date.parse(waiting_codes.valid_from) <= nowMs;
  const codes = [waited ? waiting_codes.recovery_codes[0] : undefined, recovery_codes[0]];
  return codes.filter((code) => code !== undefined);
}
