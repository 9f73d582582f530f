/** What supervisor and worker say to each other. Both run the same file, so the shapes need no versions. */
export type ToWorker =
  | { say: 'begin'; number: number; task: unknown }
  | { say: 'stop' }
  | { say: 'ask'; question: number };

export type ToSupervisor = { say: 'ready' } | { say: 'answer'; question: number; value: unknown };

export function isToWorker(message: unknown): message is ToWorker {
  const said = saying(message);
  return said === 'begin' || said === 'stop' || said === 'ask';
}

export function isToSupervisor(message: unknown): message is ToSupervisor {
  const said = saying(message);
  return said === 'ready' || said === 'answer';
}

function saying(message: unknown): unknown {
  return message !== null && typeof message === 'object' && 'say' in message ? message.say : null;
}
