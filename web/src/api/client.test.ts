import { describe, expect, it } from 'vitest'
import { Messages, path } from './client'

describe('a stream of events', () => {
  it('is put together from whatever pieces it comes in', () => {
    const messages = new Messages()
    expect(messages.take(': hello\n\nevent: sta')).toEqual([])
    expect(messages.take('tus\nid: 7\ndata: {"a":\ndata: 1}\r\n\r\nda')).toEqual([{ event: 'status', id: '7', data: '{"a":\n1}' }])
    expect(messages.take('ta: x\n\n')).toEqual([{ event: 'message', id: null, data: 'x' }])
  })
})

describe('a path', () => {
  it('is safe whatever the names are', () => {
    expect(path('volumes', 'tank', 'a/b')).toBe('/volumes/tank/a%2Fb')
  })
})
