/**
 * Milliseconds of the processor that an act takes in this process. A busy machine makes the clock go on meanwhile, and the processor's
 * time hardly.
 */
export function processorMs(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
