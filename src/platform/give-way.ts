/** Lets everything that waits already go first: for long work that runs at the same time as requests. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
