type Undo = () => Promise<void> | void;

/**
 * Runs `start`. When that fails, what it has begun and deferred is undone, the last first, and its error is thrown; when it succeeds nothing is.
 * By hand, since Node 22 has no AsyncDisposableStack.
 */
export async function undoOnFailure<T>(start: (begun: { defer(undo: Undo): void }) => Promise<T>): Promise<T> {
  const begun: Undo[] = [];
  try {
    return await start({ defer: (undo) => begun.push(undo) });
  } catch (error) {
    const alsoFailed: unknown[] = [];
    for (const undo of begun.reverse()) {
      try {
        await undo();
      } catch (failure) {
        alsoFailed.push(failure);
      }
    }
    if (alsoFailed.length === 0) throw error;
    throw new AggregateError([error, ...alsoFailed], error instanceof Error ? error.message : String(error));
  }
}
