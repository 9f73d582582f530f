export const NETWORK = 'eip155:8453';

/** What the benchmark tells a process of the stock seller, by its environment. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set`);
  return value;
}
