"""Makes, lists and deletes a volume by the client that was generated from the API's document."""

import sys

from ashlar_client import AuthenticatedClient
from ashlar_client.api.pools import list_pools
from ashlar_client.api.volumes import create_volume, delete_volume, list_volumes
from ashlar_client.models import CreateVolume

url, token = sys.argv[1:]
client = AuthenticatedClient(base_url=url, token=token, verify_ssl=False)

pools = list_pools.sync(client=client)
assert isinstance(pools, list) and pools, pools
pool = pools[0]
wanted = CreateVolume(
    pool=pool.name, name="smoke", size_bytes=16 << 20, lba_bytes=4096, allow=[], compression="auto"
)
made = create_volume.sync_detailed(client=client, body=wanted)
assert made.status_code == 201, made.content
names = [volume.name for volume in list_volumes.sync(client=client)]
assert "smoke" in names, names
asked = delete_volume.sync_detailed(client=client, pool=pool.name, volume="smoke")
assert asked.status_code == 409, asked.content
gone = delete_volume.sync_detailed(client=client, pool=pool.name, volume="smoke", confirm=True)
assert gone.status_code == 204, gone.content
print(f"a volume of pool {pool.name} was made, listed and deleted by a generated client")
