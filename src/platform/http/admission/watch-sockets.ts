import type { Socket } from 'node:net';
import { BODY_GRACE_MS, LEAST_BODY_BYTES_PER_SECOND, STALLED_ANSWER_MS } from './bounds.ts';
import type { Connection } from './connection.ts';

export type Lateness = 'answer_not_taken' | 'body_too_slow';

/** What is wrong with the pace of that client now; null: nothing. To be asked once a second or so. */
export function findLateness(connection: Connection, now: number): Lateness | null {
  if (isStalled(connection, now)) return 'answer_not_taken';
  return isSlow(connection, now) ? 'body_too_slow' : null;
}

function isStalled(connection: Connection, now: number): boolean {
  const { socket } = connection;
  const queued = queuedBytes(socket);
  const { bytesWritten } = socket;
  if (queued === 0 || queued !== connection.queued || bytesWritten !== connection.written) {
    connection.queued = queued;
    connection.written = bytesWritten;
    connection.stalledSince = now;
    return false;
  }
  return now - connection.stalledSince >= STALLED_ANSWER_MS;
}

function isSlow(connection: Connection, now: number): boolean {
  if (!connection.isReadingBody()) return false;
  const ms = now - connection.headAt;
  const due = ((ms - BODY_GRACE_MS) / 1_000) * LEAST_BODY_BYTES_PER_SECOND;
  return due > 0 && connection.socket.bytesRead - connection.bytesAtHead < due;
}

/** Handed to the system or waiting for that. What the system itself holds for a client is not seen, and is little. */
function queuedBytes(socket: Socket): number {
  const { _handle: handle } = socket as { _handle?: { writeQueueSize?: unknown } };
  const queued = handle?.writeQueueSize;
  // The number falls with every byte that the system takes, which the stream's own count does not.
  return typeof queued === 'number' && queued > 0 ? queued : socket.writableLength;
}
