import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { clientNetwork, networkLevels } from '../client-network.ts';
import { NETWORK_PART, part, type Rule, type RuleCounts } from './bounds.ts';
import { Connection } from './connection.ts';
import type { ClientNames } from './name-client.ts';

export interface SocketsOptions {
  total: number;
  clock: Clock;
  names: ClientNames;
  rules: RuleCounts;
}

/** Of all sockets, those that are closed at once when idle ones have to make room. */
const ROOM_PART = 16;
const LOOK_PAUSE_MS = 100;

/** Open sockets: how many there are, and of which network. Those on which nothing is asked make room for new ones. */
export function createSockets({ total, clock, names, rules }: SocketsOptions) {
  const all = new Set<Connection>();
  const bySite = new Map<string, Set<Connection>>();
  const ofNetwork = part(total, NETWORK_PART);
  let streams = 0;
  let lookAgainAt = 0;

  const refuse = (socket: Socket, rule: Rule): null => {
    rules[rule] += 1;
    socket.destroy();
    return null;
  };
  const remove = (connection: Connection): void => {
    const { peer } = connection;
    const own = peer === null ? undefined : bySite.get(peer.site);
    own?.delete(connection);
    if (peer !== null && own?.size === 0) bySite.delete(peer.site);
  };
  /** With none idle, the network that holds most gives one up for a newcomer that holds much less. */
  const makeRoom = (newcomers: number): boolean => {
    if (clock.now() >= lookAgainAt && closeIdle(all, part(total, ROOM_PART), rules) > 0) return true;
    // Looking at all of them for each that comes would be work that strangers could ask for.
    lookAgainAt = Math.max(lookAgainAt, clock.now() + LOOK_PAUSE_MS);
    const [largest] = [...bySite.values()].toSorted((a, b) => b.size - a.size);
    if (largest === undefined || largest.size <= 2 * (newcomers + 1)) return false;
    for (const connection of largest) {
      if (connection.socket.destroyed || connection.isAnswering()) continue;
      refuse(connection.socket, 'sockets_full');
      return true;
    }
    return false;
  };
  return {
    /** Null: there is no room, and the socket is closed. */
    admit: (socket: Socket): Connection | null => {
      const address = socket.remoteAddress;
      const counted = clientNetwork(address);
      const peer = names.isProxy(address) ? null : { address: counted, site: networkLevels(counted).site };
      const own = peer === null ? undefined : bySite.get(peer.site);
      if (own !== undefined && own.size >= ofNetwork && closeIdle(own, 1, rules) === 0) {
        return refuse(socket, 'sockets_of_network');
      }
      if (all.size - streams >= total && !makeRoom(own?.size ?? 0)) return refuse(socket, 'sockets_full');
      const connection = new Connection(socket, peer);
      all.add(connection);
      own?.add(connection);
      if (peer !== null && own === undefined) bySite.set(peer.site, new Set([connection]));
      socket.once('close', () => {
        all.delete(connection);
        if (connection.isStream) streams -= 1;
        else remove(connection);
      });
      return connection;
    },
    /** From now on a stream, which its own pool counts. */
    leave: (connection: Connection): void => {
      if (connection.isStream) return;
      connection.isStream = true;
      if (!all.has(connection)) return;
      streams += 1;
      remove(connection);
    },
    count: (): number => all.size - streams,
    /** All, streams included. */
    each: (): Iterable<Connection> => all,
  };
}

/** Idle ones, those that came first before the others. How many were found. */
function closeIdle(among: Iterable<Connection>, most: number, rules: RuleCounts): number {
  let closed = 0;
  for (const connection of among) {
    if (closed >= most) break;
    if (connection.socket.destroyed || !connection.isIdle()) continue;
    rules.idle_closed += 1;
    connection.socket.destroy();
    closed += 1;
  }
  return closed;
}
