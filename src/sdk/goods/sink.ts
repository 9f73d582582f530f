/** A target for bytes: a function that is called for each part and awaited, or a stream. */
export type ByteSink = ((bytes: Uint8Array) => void | Promise<void>) | WritableStream<Uint8Array>;

export interface Sink {
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
  abort(reason: unknown): Promise<void>;
}

export function openSink(to: ByteSink): Sink {
  if (typeof to === 'function') {
    return { write: async (bytes) => await to(bytes), close: async () => {}, abort: async () => {} };
  }
  const writer = to.getWriter();
  return {
    write: async (bytes) => {
      // The stream says when it can take more, so a slow target holds no bytes in memory.
      await writer.ready;
      await writer.write(bytes);
    },
    close: () => writer.close(),
    // A stream that failed by itself refuses to be aborted, and the caller throws its error anyway.
    abort: (reason) => writer.abort(reason).catch(() => {}),
  };
}
