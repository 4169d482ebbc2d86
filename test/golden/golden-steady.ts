import { version } from '../../src/host/package.ts';
import { packageRoot } from '../kit/judges/documents.ts';

/**
 * A text without what differs from run to run and from machine to machine.
 * Where columns may depend on it, what stands there instead is as long. A busy
 * machine may need minutes for all that is looked at.
 */
export function steady(
  text: string,
  ids: ReadonlyMap<string, string> = new Map()
): string {
  return text
    .replaceAll(packageRoot, '/usr/lib/node_modules/troupe')
    .replaceAll(process.execPath, '/usr/bin/node')
    .replace(/\/tmp\/troupe-test-\w{6}/g, '/tmp/troupe-test-000000')
    .replace(/\b[0-9a-f]{64}\b/g, '0'.repeat(64))
    .replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, aTime)
    .replace(/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b/g, '2026-01-01 00:00:00')
    .replace(
      /(?<![\w.-])[0-9a-f]{8}(?![\w.])/g,
      (id) => ids.get(id) ?? '00000000'
    )
    .replace(/\bworkspace-[0-9a-f]{14}\b/g, 'workspace-00000000000000')
    .replace(
      /(?<=\/agents\/)[0-9a-f]{8}(?=\.md\b)/g,
      (id) => ids.get(id) ?? '00000000'
    )
    .replaceAll(process.versions.node, '20.19.0')
    .replaceAll(`troupe ${version}`, 'troupe 0.0.0')
    .replaceAll(`"version": "${version}"`, '"version": "0.0.0"')
    .replace(/\b\d\.\d s\b/g, '0.0 s')
    .replace(/\b2h [4-9]m/g, '2h 4m')
    .replace(/\b\d\.\d KB\b/g, '4.0 KB')
    .replace(/("\w*bytes\w*": )\d+/g, '$14096')
    .replace(/("day": )"[\d-]+"/g, '$1"2026-01-01"')
    .replace(/("duration_seconds": )0\.\d+/g, '$10.1')
    .replace(/("elapsed_seconds": )[\d.]+/g, '$11')
    .replace(/("quiet_seconds": )[\d.]+/g, '$11.5')
    .replace(/("seconds": )\d+(?=,)/g, '$17470');
}

const aTime = '2026-01-01T00:00:00.000Z';
