const LONGEST = 2_000;

/** An address of the web in plain letters, which leads where it reads to lead. */
export function isFollowable(address: string): boolean {
  if (address.length > LONGEST || !/^https?:\/\/[!-~]+$/.test(address) || address.includes('\\')) return false;
  try {
    const { username, password } = new URL(address);
    return username === '' && password === '';
  } catch {
    return false;
  }
}
