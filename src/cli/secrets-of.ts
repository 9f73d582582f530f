import type { Identity } from './files/identity.ts';

/** What --reveal shows of a file. */
export function secretsOf({ merchant_key, recovery_codes, waiting_codes }: Identity): string[] {
  return [
    ...(merchant_key === null ? [] : [`key            ${merchant_key}`]),
    ...recovery_codes.map((code) => `recovery code  ${code}`),
    ...(waiting_codes?.recovery_codes ?? []).map((code) => `waiting code   ${code}`),
  ];
}
