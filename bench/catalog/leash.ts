import cluster from 'node:cluster';

/**
 * Loaded before the market: it ends with the benchmark, however that ends. Its workers load this too, since they start as it started, and
 * their channel is the market's business.
 */
if (cluster.isPrimary) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
