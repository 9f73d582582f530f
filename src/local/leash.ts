/**
 * Loaded before the program of a server that the local world starts. The servers are kept out of the terminal's process group, so that
 * Ctrl-C reaches the local world alone; when that is killed, its end of this channel closes, and the server stops as if it were told to.
 */
process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
