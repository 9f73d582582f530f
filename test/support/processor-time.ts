/** Returns the CPU milliseconds of `act` in this process, which other load affects far less than wall time. */
export function processorMs(act: () => void): number {
  const before = process.cpuUsage();
  act();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
