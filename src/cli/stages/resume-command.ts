import type { Pending } from '../files/identity.ts';

const COMMAND_OF = { register: 'join', rotate: 'rotate', recovery: 'recover' } as const;

/** What finishes a stage. */
export function resumeCommand({ door }: Pick<Pending, 'door'>, path: string): string {
  return `openaisle ${COMMAND_OF[door]} --resume --file ${shown(path)}`;
}

/** As a shell takes it. */
function shown(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
