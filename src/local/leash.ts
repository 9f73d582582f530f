import cluster from 'node:cluster';

/**
 * Loaded before each server that the local world starts. Servers are outside the terminal's process group, so Ctrl-C reaches only the local
 * world. If the local world is killed, the server's channel to it closes, and the server stops as on SIGTERM. Workers of a server load this
 * file too, but it does nothing there, because their channel leads to the server.
 */
if (cluster.isPrimary) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
