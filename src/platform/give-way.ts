/** Lets everything that waits already go first: for long work that has to be done beside requests. */
export function giveWay(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
