import cluster from 'node:cluster';
import { isToWorker, type ToSupervisor } from './messages.ts';

/** The place of this process among the workers of a supervisor. */
export interface Seat {
  /** From 1 up; a successor has the number of the one it stands in for. */
  number: number;
  /** What the supervisor gives to each worker. */
  task: unknown;
  /** To be called once, when this worker serves. */
  ready(): void;
}

export interface SeatDuties {
  /** The supervisor wants this worker to end. */
  onStop(): void;
  /** The supervisor is gone; right after this the process ends by itself. */
  onOrphaned(): void;
  /** What this worker answers to a question of the supervisor. */
  answer(): Promise<unknown>;
}

/** Resolves with the place that the supervisor gives to this process; null at once when the process is no worker. */
export function joinSupervisor(duties: SeatDuties): Promise<Seat> | null {
  const { worker } = cluster;
  if (worker === undefined || !cluster.isWorker) return null;
  const say = (message: ToSupervisor): void => {
    // A supervisor that is gone hears nothing, and the end of this process follows.
    worker.send(message, () => {});
  };
  worker.on('disconnect', () => duties.onOrphaned());
  return new Promise((resolve) => {
    worker.on('message', (message: unknown) => {
      if (!isToWorker(message)) return;
      if (message.say === 'begin') {
        resolve({ number: message.number, task: message.task, ready: () => say({ say: 'ready' }) });
      } else if (message.say === 'stop') {
        duties.onStop();
      } else {
        const { question } = message;
        duties.answer().then(
          (value) => say({ say: 'answer', question, value }),
          // Silence is an answer too: the supervisor does without.
          () => {},
        );
      }
    });
  });
}
