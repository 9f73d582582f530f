export interface LockedPackage {
  /** Install path relative to the project root. */
  path: string;
  name: string;
  version: string;
  integrity: string | undefined;
  resolved: string | undefined;
  hasInstallScript: boolean;
}

/** Returns the packages that package-lock.json installs from a registry, which excludes the project itself and links inside it. */
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
