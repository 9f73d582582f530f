import cluster from 'node:cluster';

/**
 * Loaded before each server that the local world starts. Servers are outside the terminal's process group, so Ctrl-C reaches only the local
 * world. If the local world is killed, this channel closes and the server stops as on SIGTERM. Workers of a server load this file too, but
 * their channel belongs to the server, so it does nothing there.
 */
if (cluster.isPrimary) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
