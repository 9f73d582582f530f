import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import type { S3Bucket } from '../../src/platform/s3-client.ts';
import { createS3Client } from '../../src/platform/s3-client.ts';
import { freePort } from '../support/free-port.ts';

const run = promisify(execFile);
const LONGEST_START_MS = 120_000;

export interface Radosgw {
  bucket: S3Bucket;
  /** Runs radosgw-admin, such as `user modify --uid=openaisle ...`. */
  admin(...given: string[]): Promise<string>;
  /** Ends the gateway alone, as in an outage. */
  stopGateway(): Promise<void>;
  startGateway(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts Ceph's S3 server with a monitor and a store of its own, in a new folder on loopback, with one user and one bucket. Needs Debian's
 * packages ceph-mon, ceph-osd and radosgw. Objects are kept in memory.
 */
export async function startRadosgw(): Promise<Radosgw> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-radosgw-'));
  const children: ChildProcess[] = [];
  const [port, monitor] = [await freePort(), await freePort()];
  const config = join(folder, 'ceph.conf');
  const [clusterId, storeId] = [systemRandom.uuid(), systemRandom.uuid()];
  const start = async (program: string, ...given: string[]): Promise<ChildProcess> => {
    const out = await open(join(folder, `${program}.out`), 'a');
    const child = spawn(program, ['-c', config, '-f', ...given], { stdio: ['ignore', out.fd, out.fd] });
    children.push(child);
    await once(child, 'spawn');
    await out.close();
    return child;
  };
  const command = async (program: string, ...given: string[]): Promise<string> =>
    (await run(program, ['-c', config, ...given], { timeout: LONGEST_START_MS })).stdout;
  const close = async (): Promise<void> => {
    for (const child of children.toReversed()) await end(child);
    await rm(folder, { recursive: true });
  };
  let gateway: ChildProcess;
  const startGateway = async (): Promise<void> => {
    gateway = await start('radosgw', '-n', 'client.rgw');
    const isServing = (): Promise<boolean> =>
      fetch(`http://127.0.0.1:${port}/`).then(
        ({ ok }) => ok,
        () => false,
      );
    await untilTrue(isServing, gateway);
  };
  try {
    for (const name of ['run', 'osd']) await mkdir(join(folder, name));
    await writeFile(config, printConfig({ folder, clusterId, port, monitor }));
    const map = join(folder, 'monmap');
    await run('monmaptool', ['--create', '--fsid', clusterId, '--addv', 'a', `[v1:127.0.0.1:${monitor}]`, map]);
    await command('ceph-mon', '--mkfs', '-i', 'a', '--monmap', map);
    const monitors = await start('ceph-mon', '-i', 'a');
    const addStore = (): Promise<boolean> =>
      command('ceph', 'osd', 'new', storeId).then(
        () => true,
        () => false,
      );
    // The monitor refuses commands until it has elected itself.
    await untilTrue(addStore, monitors);
    await command('ceph-osd', '-i', '0', '--mkfs', '--osd-uuid', storeId);
    await command('ceph', 'osd', 'crush', 'add', 'osd.0', '1', 'root=default', 'host=local');
    await start('ceph-osd', '-i', '0');
    await startGateway();
    const admin = (...given: string[]): Promise<string> => command('radosgw-admin', '-n', 'client.admin', ...given);
    const bucket = { endpoint: `http://127.0.0.1:${port}`, bucket: 'goods', region: 'us-east-1' };
    const access = { keyId: 'OPENAISLEKEY', secret: systemRandom.bytes(20).toString('hex') };
    const user = ['--uid=openaisle', '--display-name=Openaisle'];
    await admin('user', 'create', ...user, `--access-key=${access.keyId}`, `--secret=${access.secret}`);
    const client = createS3Client({ ...bucket, ...access }, { clock: systemClock, random: systemRandom });
    await client.send({ method: 'PUT', name: '' });
    client.close();
    return { bucket: { ...bucket, ...access }, admin, startGateway, stopGateway: () => end(gateway), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

async function untilTrue(isTrue: () => Promise<boolean>, server: ChildProcess): Promise<void> {
  const endsAt = systemClock.now() + LONGEST_START_MS;
  while (!(await isTrue())) {
    if (server.exitCode !== null) throw new Error(`${server.spawnfile} has ended`);
    if (systemClock.now() > endsAt) throw new Error(`${server.spawnfile} does not answer`);
    await systemClock.sleep(100);
  }
}

function printConfig(at: { folder: string; clusterId: string; port: number; monitor: number }): string {
  const { folder, clusterId, port, monitor } = at;
  return `[global]
fsid = ${clusterId}
mon host = [v1:127.0.0.1:${monitor}]
public addr = 127.0.0.1
cluster addr = 127.0.0.1
auth cluster required = none
auth service required = none
auth client required = none
run dir = ${folder}/run
admin socket = ${folder}/run/$name.$pid.asok
log file = ${folder}/run/$name.log
mon data = ${folder}/mon
mon data avail crit = 1
mon allow pool size one = true
osd data = ${folder}/osd
osd objectstore = memstore
memstore device bytes = 4294967296
osd class update on start = false
osd crush update on start = false
osd crush chooseleaf type = 0
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
rgw frontends = beast endpoint=127.0.0.1:${port}
rgw data = ${folder}/rgw
`;
}
