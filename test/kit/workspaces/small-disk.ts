import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmdirSync,
  rmSync,
  statfsSync,
  writeFileSync
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../judges/until.ts';

/** A small disk of its own, mounted over a directory. */
export interface SmallDisk {
  /** Takes every byte that is left, or every file of a disk that limits them. */
  fill: (what?: 'bytes' | 'files') => void;
  /** Gives back what `fill` took. */
  free: () => void;
  /** Makes it as small as what is on it, which is full at once; or as before. */
  setTight: (on: boolean) => void;
  /** Waits until no file is open for writing, as the system demands. */
  setReadOnly: (on: boolean) => Promise<void>;
  unmount: () => void;
}

/** A small disk with a directory of its own, which goes with it. */
export interface OwnDisk extends SmallDisk {
  /** Where it is mounted: takes a workspace with its home and its record. */
  directory: string;
}

/** Whether we may mount: root on Linux. */
export function canMount(): boolean {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-mount-'));
  try {
    mountSmallDisk(directory, 64).unmount();
    return true;
  } catch {
    return false;
  } finally {
    rmdirSync(directory);
  }
}

/**
 * @param files how many it takes; 0 for no limit
 * @throws where mounting is not allowed
 */
export function makeSmallDisk(kilobytes: number, files = 0): OwnDisk {
  const directory = mkdtempSync(join(tmpdir(), 'troupe-disk-'));
  const disk = mountSmallDisk(directory, kilobytes, files);
  return {
    ...disk,
    directory,
    unmount: () => {
      disk.unmount();
      rmdirSync(directory);
    }
  };
}

/**
 * @param files how many it takes; 0 for no limit
 * @throws where mounting is not allowed
 */
export function mountSmallDisk(
  directory: string,
  kilobytes: number,
  files = 0
): SmallDisk {
  const run = (command: string, ...args: string[]) =>
    execFileSync(command, [...args, directory], { stdio: 'pipe' });
  const size = `size=${kilobytes}k,nr_inodes=${files},mode=755`;
  run('mount', '-t', 'tmpfs', '-o', size, 'tmpfs');
  const ballast = join(directory, '.ballast');
  return {
    fill: (what = 'bytes') => {
      try {
        mkdirSync(ballast, { recursive: true });
        for (let one = 0; ; one += 1)
          if (what === 'files') writeFileSync(join(ballast, `${one}`), '');
          else appendFileSync(join(ballast, 'bytes'), Buffer.alloc(4096));
      } catch {
        // Full, as wanted.
      }
    },
    free: () => rmSync(ballast, { recursive: true }),
    setTight: (on) => {
      const { blocks, bfree, bsize } = statfsSync(directory);
      const used = Math.ceil(((blocks - bfree) * bsize) / 1024);
      run('mount', '-o', `remount,size=${on ? used : kilobytes}k`);
    },
    setReadOnly: async (on) => {
      const remount = () => {
        try {
          return run('mount', '-o', `remount,${on ? 'ro' : 'rw'}`);
        } catch (error) {
          if (String(error).includes('is busy')) return undefined;
          throw error;
        }
      };
      await until(`a disk without open files: ${directory}`, remount);
    },
    unmount: () => {
      run('umount', '-l');
    }
  };
}
