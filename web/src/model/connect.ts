// How a host attaches what it may see: commands to be copied.
import type { Status } from '../api/client'

export interface Command {
  label: string
  command: string
}

const ANY = ['0.0.0.0', '::']
const bare = (address: string) => address.replace(/^\[|\]$/g, '')

/** The commands, for a daemon that is reached under `name` where it listens at all addresses. */
export function connectCommands(status: Status, name: string): Command[] {
  const at = (kind: string) => {
    const found = status.portals.find((portal) => portal.kind === kind)
    return found && { address: ANY.includes(bare(found.address)) ? bare(name) : bare(found.address), port: found.port }
  }
  const found: Command[] = [{ label: 'The host’s own name, to be allowed', command: 'cat /etc/nvme/hostnqn' }]
  const discovery = at('discovery') ?? at('io')
  const io = at('io')
  if (discovery) {
    found.push({ label: 'Connect to all that it may see', command: `modprobe nvme-tcp && nvme connect-all -t tcp -a ${discovery.address} -s ${discovery.port}` })
  }
  if (io) found.push({ label: 'Connect to this appliance alone', command: `nvme connect -t tcp -a ${io.address} -s ${io.port} -n ${status.subsystem_nqn}` })
  return found
}
