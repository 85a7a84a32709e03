import { mount } from 'svelte'
import './app.css'
import App from './App.svelte'
import { chosen } from './live/choice.svelte'

chosen.apply()
mount(App, { target: document.getElementById('app')! })
