export interface LockedPackage {
  /** Where it is installed, from the root of the project. */
  path: string;
  name: string;
  version: string;
  integrity: string | undefined;
  resolved: string | undefined;
  hasInstallScript: boolean;
}

/** What package-lock.json installs from a registry: all but the project itself and links inside of it. */
export function packagesOf(lock: unknown): LockedPackage[] {
  const { packages } = lock as { packages: Record<string, Record<string, unknown>> };
  return Object.entries(packages).flatMap(([path, entry]) => {
    if (path === '' || entry['link'] === true) return [];
    return {
      path,
      name: text(entry['name']) ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: text(entry['version']) ?? '',
      integrity: text(entry['integrity']),
      resolved: text(entry['resolved']),
      hasInstallScript: entry['hasInstallScript'] === true,
    };
  });
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
