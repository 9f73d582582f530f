import cluster from 'node:cluster';

/**
 * Loaded before the program of a server that the local world starts. The servers are kept out of the terminal's process group, so that
 * Ctrl-C reaches the local world alone; when that is killed, its end of this channel closes, and the server stops as if it were told to.
 * Workers of a server load this too, since they start as it started, and their channel is the server's business.
 */
if (cluster.isPrimary) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
