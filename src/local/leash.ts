import cluster from 'node:cluster';

/**
 * Loaded before a server that the local world starts. Servers are outside the terminal's process group, so that Ctrl-C reaches the local
 * world alone. If that is killed, this channel closes and the server stops as on SIGTERM. Workers of a server load this file too, but their
 * channel belongs to the server, so it does nothing there.
 */
if (cluster.isPrimary) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
