export const NETWORK = 'eip155:8453';

/** Reads a setting that the benchmark passes through the environment. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}
