/** Takes the bytes of one file. */
export interface FileTarget {
  write(part: Uint8Array): Promise<void>;
  /** Ends the file. Returns the address of bytes in memory, which the user has still to save, or null. */
  keep(): Promise<string | null>;
  discard(): Promise<void>;
}

interface SaveDialog {
  showSaveFilePicker?(options: { suggestedName: string }): Promise<FileSystemFileHandle>;
}

/** Asks where to save, if the browser can write to disk; otherwise collects the file in memory. Returns null if the user chose nothing. */
export async function openFileTarget(suggestedName: string): Promise<FileTarget | null> {
  const dialog = globalThis as SaveDialog;
  if (dialog.showSaveFilePicker === undefined) return collectInMemory();
  try {
    const handle = await dialog.showSaveFilePicker({ suggestedName });
    return writeToDisk(await handle.createWritable());
  } catch (error) {
    const name = error instanceof DOMException ? error.name : '';
    if (name === 'AbortError') return null;
    // The browser forbids this page its dialog.
    if (name === 'SecurityError') return collectInMemory();
    throw error;
  }
}

function writeToDisk(file: FileSystemWritableFileStream): FileTarget {
  return {
    write: (part) => file.write(new Uint8Array(part)),
    keep: async () => {
      await file.close();
      return null;
    },
    // A file that failed by itself refuses to be aborted, and its error is shown anyway.
    discard: () => file.abort().catch(() => {}),
  };
}

/** Keeps the bytes without a media type, so that no program opens them automatically. */
function collectInMemory(): FileTarget {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  return {
    write: async (part) => void parts.push(new Uint8Array(part)),
    keep: async () => URL.createObjectURL(new Blob(parts, { type: 'application/octet-stream' })),
    discard: async () => void parts.splice(0),
  };
}
