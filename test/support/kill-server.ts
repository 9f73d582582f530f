import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Kill -9 of the PostgreSQL on this cluster and of all its processes, as when its machine loses power. */
export async function killServer(cluster: string): Promise<void> {
  const postmaster = Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  // While it is stopped it starts no child that the list below would miss.
  process.kill(postmaster, 'SIGSTOP');
  const children = await childrenOf(postmaster);
  for (const pid of [postmaster, ...children]) process.kill(pid, 'SIGKILL');
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const children: number[] = [];
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // The name, in brackets, may hold anything; state and parent follow it.
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(ppid) === parent) children.push(pid);
  }
  return children;
}
